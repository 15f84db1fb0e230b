"""Evidence packets: the smallest sufficient context, provable claim by claim. Pure policy."""
