"""What the vectors are worth: tasks, records, report."""
