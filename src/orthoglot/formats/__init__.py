"""Files of sentence pairs: what reads each form, and what is written."""
