"""python -m pgrecall"""

from pgrecall.cli import main

main()
