"""Training of encoders: EMS, Emma-X, distillation and masked language modelling."""
