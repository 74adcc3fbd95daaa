// The first noun of this floor replaces this file.
