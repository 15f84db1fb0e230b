"""The store on Firestore: one document a person, committed on condition that nobody was faster."""
