"""How each of the `kinds` is trained: a module each, with `TRAIN`.

`TRAIN` is a function (settings, name, inputs, run, output) that writes an encoder folder.
"""
