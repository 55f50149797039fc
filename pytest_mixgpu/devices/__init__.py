"""What is there: from a request such as `a40:16` and the machine's inventory to a pool of leased devices.

Imports no other room.
"""
