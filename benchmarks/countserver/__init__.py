"""A loopback service that counts tokens as Gemini's countTokens does, in renderings of its own."""
