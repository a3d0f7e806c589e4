"""The architectures: a module each, named as `architecture` of a method names it.

A module holds the architecture's settings, its formulas and the value `ARCHITECTURE`, which is a `ClosedForm` or a
`Trained` of `orthoglot.decomposers.base`.
"""
