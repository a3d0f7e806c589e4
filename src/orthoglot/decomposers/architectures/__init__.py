"""The architectures: a module each, with settings, formulas and `ARCHITECTURE`, a `ClosedForm` or a `Trained`."""
