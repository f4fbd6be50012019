"""Conformance kits and fakes for plug-in authors."""
