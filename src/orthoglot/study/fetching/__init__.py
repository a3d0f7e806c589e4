"""Files from the network: OPUS and other addresses, with licences, digests and a forecast of their sizes."""
