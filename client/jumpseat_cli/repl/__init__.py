"""`jumpseat chat` without a question: a conversation on a terminal."""
