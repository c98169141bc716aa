"""What can be read off a program: how loops count, what is manual, what is stated, what things are called."""
