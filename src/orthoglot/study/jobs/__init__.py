"""The jobs of the workflow: a module for each verb, whose `run` makes the output folder of a job."""
