"""Two sessions of one suite side by side: from what was read of both to rows, to lines for a terminal, and to a page.

That they may be compared was judged before, in `marks.comparable`.
"""
