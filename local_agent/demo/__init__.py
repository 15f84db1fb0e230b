"""What `local-agent demo` runs: five turns three ways, two drills, and a report of it all."""
