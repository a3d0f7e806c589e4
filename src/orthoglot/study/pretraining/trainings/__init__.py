"""How each kind of encoder is trained: a module each, named as its kind in `orthoglot.encoders.kinds`.

A module has `TRAIN`, a function (settings, name, inputs, run, output) that writes an encoder folder.
"""
