"""What the model may see of earlier turns: pure policy, no clock, no I/O, no model."""
