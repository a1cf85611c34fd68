"""Questions about the intermediate representation; every emitter may ask them."""
