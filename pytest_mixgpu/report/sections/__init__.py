"""The parts of a report, one file a part: from verdicts, records and plan to rows, tables and sentences of text.

Each is laid out here and joined by `rows.build_report`. Computes no metric and judges nothing.
"""
