"""The methods of jumpseat's own contract on `connections/`. Only this package uses their names."""
