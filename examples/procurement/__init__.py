"""The 86 萬 television case of hotel H-117: an answer that is proven claim by claim, offline."""
