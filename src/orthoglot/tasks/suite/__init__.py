"""The tasks: each module is one, named as the module with hyphens for underscores (`orthoglot.tasks.registry`)."""
