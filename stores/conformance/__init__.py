"""Parts of the suite in ``stores.testing``, one a subject."""
