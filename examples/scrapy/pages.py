"""A spider with the middleware in robots_permits.py:

    robots serve &
    cd examples/scrapy
    PYTHONPATH=. scrapy runspider pages.py -s ROBOTS_SERVICE=http://127.0.0.1:8780 -a urls='https://example.com/ https://example.com/about'
"""

import scrapy


class Pages(scrapy.Spider):
    name = "pages"
    custom_settings = {
        "ROBOTS_AGENT": "MyBot",
        "USER_AGENT": "MyBot (+https://example.com/bot)",
        "DOWNLOADER_MIDDLEWARES": {"robots_permits.RobotsPermits": 950},
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 200,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 200,
        "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "INFO",
    }

    def __init__(self, urls="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = urls.split()

    def parse(self, response):
        yield {"status": response.status, "url": response.url, "bytes": len(response.body)}
