"""Forms of files, a module each that reads them."""
