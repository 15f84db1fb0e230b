"""LOCAL on LINE: the gateway that takes events in, the workers, and what goes out."""
