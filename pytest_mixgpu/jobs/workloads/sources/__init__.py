"""Where samples come from, one file a source. An opened source is three splits and a manifest of their bytes."""
