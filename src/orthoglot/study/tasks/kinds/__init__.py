"""The tasks: each module is one, named as the module with `-` for `_` (`orthoglot.study.tasks.registry`)."""
