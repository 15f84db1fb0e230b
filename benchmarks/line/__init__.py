"""What LOCAL costs on LINE: acknowledgement, turns, many chats, two workers, per store."""
