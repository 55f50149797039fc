"""Heads of the ledger that are kept outside of it: statements and what vouches for them. Judges nothing, no torch.

A chain alone shows accidents. That it was cut or rebuilt whole shows only against a head that was kept elsewhere: in a
commit, under a signature, or under the stamp of an authority.
"""
