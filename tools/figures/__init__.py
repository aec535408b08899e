"""The figures and tables of the paper, a module each; tools/reproduce.py puts them together."""
