"""The only code that imports google.adk: the plugin, its model gate, and what they stand on."""
