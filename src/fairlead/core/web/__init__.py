"""What HTTP needs decided: API keys, stored responses, callbacks and their signatures, addresses, proxies."""
