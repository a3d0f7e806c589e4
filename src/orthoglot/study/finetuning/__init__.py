"""Fine-tuning: all weights of an encoder go on training on a task, with a head, and are tested on it."""
