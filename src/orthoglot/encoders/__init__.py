"""Text to vector: encoders, their folders, checkpoints and tokenizers."""
