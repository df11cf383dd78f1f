"""What keys do on the main screen, by what they act on."""
