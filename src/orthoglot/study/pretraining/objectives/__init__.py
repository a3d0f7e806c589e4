"""The losses that encoders are pretrained with."""
