"""`python -m jumpseat` is the `jumpseat` command."""

from jumpseat_client.cli import main

if __name__ == "__main__":
    main()
