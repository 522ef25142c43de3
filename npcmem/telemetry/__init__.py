"""Logs of real players and real calls, read into the package's own nouns; one module per format."""

from npcmem.telemetry.player_inputs import PlayerInputs, Problem, read_player_inputs

__all__ = ["PlayerInputs", "Problem", "read_player_inputs"]
