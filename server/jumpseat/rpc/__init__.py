"""The methods of jumpseat's own protocol, on top of `connections/`. Only this package uses their names."""
