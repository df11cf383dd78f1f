"""The running half of a gateway: queue, agent cache, expiry watcher, loop.

    async with GatewayRunner(home, store, new_agent=lambda context: answer, send=send) as gateway:
        await gateway.serve(platform)        # any async iterator of `MessageEvent`

Spec 002 sections 5 to 11 under their names, asyncio, without a screen.
"""
