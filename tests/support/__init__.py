"""What the tests share: private servers and the search for leaks."""
