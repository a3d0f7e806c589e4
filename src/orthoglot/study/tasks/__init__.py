"""What the vectors are worth: each task scores arrays, item by item."""
