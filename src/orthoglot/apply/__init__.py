"""What people use after training: fit, load, transform and export."""
