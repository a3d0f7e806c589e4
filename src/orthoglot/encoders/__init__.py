"""Text to vector: the encoders, one file each."""
