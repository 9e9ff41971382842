"""A downloader middleware for Scrapy: each request has its turn from `robots serve`.

It takes the place of Scrapy's own robots.txt middleware, its delays and AutoThrottle.
All spiders that ask one service, or services on one Redis, are one crawler to every
site. Scrapy 2.8 or later; in the settings of the project:

    ROBOTS_SERVICE = "http://127.0.0.1:8780"
    ROBOTS_AGENT = "MyBot"                       # the product token; USER_AGENT should hold it
    ROBOTS_TOKEN = None                          # of the service, if it wants one
    DOWNLOADER_MIDDLEWARES = {"robots_turns.RobotsTurns": 950}  # next to the downloader, behind the cache
    TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
    ROBOTSTXT_OBEY = False                       # the service does it
    AUTOTHROTTLE_ENABLED = False
    DOWNLOAD_DELAY = 0
    CONCURRENT_REQUESTS = 200                    # those that wait for their turn count
    CONCURRENT_REQUESTS_PER_DOMAIN = 200         # the service is a domain, and a site has one turn at a time

A request that is disallowed ends with IgnoreRequest. Redirects and retries come through
here again and have a turn each.
"""

import asyncio
import datetime
import email.utils
import json
import logging

from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import TimeoutError as DeferTimeout
from twisted.internet.error import TimeoutError as TCPTimeout

logger = logging.getLogger(__name__)

PERMIT = "robots_permit"  # in the meta of a request that has a turn
# The meta of a request to the service, which no other middleware is to touch.
SERVICE = {"robots_turns": False, "proxy": None, "download_timeout": 60, "dont_retry": True, "dont_redirect": True, "dont_cache": True, "dont_merge_cookies": True}


class RobotsTurns:
    def __init__(self, crawler):
        settings = crawler.settings
        self.crawler = crawler
        self.service = (settings.get("ROBOTS_SERVICE") or "").rstrip("/")
        self.agent = settings.get("ROBOTS_AGENT")
        if not self.service or not self.agent:
            raise NotConfigured("ROBOTS_SERVICE and ROBOTS_AGENT are needed")
        self.headers = {"Content-Type": "application/json"}
        if settings.get("ROBOTS_TOKEN"):
            self.headers["Authorization"] = "Bearer " + settings.get("ROBOTS_TOKEN")
        self.timeout = settings.getint("DOWNLOAD_TIMEOUT")

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def ask(self, path, body):
        """Ask the service. One that is busy, or does not know yet, says when to ask again."""
        while True:
            request = Request(self.service + path, method="POST", headers=self.headers, body=json.dumps(body), meta=dict(SERVICE))
            answer = await maybe_deferred_to_future(self.crawler.engine.download(request))
            if answer.status not in (429, 503):
                return answer.status, json.loads(answer.body)
            await asyncio.sleep(retry_after(answer.headers) or 1)

    async def process_request(self, request, spider):
        """Wait for the turn of a request."""
        if request.meta.get("robots_turns") is False:
            return None
        request.meta.pop(PERMIT, None)  # that of a request which this one is a copy of
        hold = request.meta.get("download_timeout", self.timeout) + 60
        body = {"url": request.url, "agent": self.agent, "within": "5s", "hold": f"{hold:.0f}s"}
        while True:
            status, answer = await self.ask("/v1/permits", body)
            if status >= 400:
                raise IgnoreRequest(f"{request.url}: {answer.get('detail', status)}")
            verdict, permit = answer["verdict"], answer["permit"]
            if not verdict["allowed"]:
                self.crawler.stats.inc_value("robots_turns/" + verdict["reason"])
                logger.info("disallowed %s %s", request.url, verdict["reason"])
                raise IgnoreRequest(f"{request.url} is disallowed by robots.txt: {verdict['reason']}")
            if permit:
                await asyncio.sleep(max(0, until(permit["start"])))
                request.meta[PERMIT] = permit["id"]
                return None
            await asyncio.sleep(max(0, until(answer["not_before"])))

    async def process_response(self, request, response, spider):
        """Give the turn back with what the site said: its status, and how long it wants to rest."""
        await self.give_back(request, {"status": response.status, "retry_after": min(retry_after(response.headers), 31536000)})
        return response

    async def process_exception(self, request, exception, spider):
        await self.give_back(request, {"timeout": True} if isinstance(exception, (DeferTimeout, TCPTimeout)) else {})

    async def give_back(self, request, result):
        permit = request.meta.pop(PERMIT, None)  # none for an answer of the cache
        if permit:
            await self.ask(f"/v1/permits/{permit}/done", result)  # 410: its time is over, and it counted as a timeout


def retry_after(headers):
    """The seconds of a Retry-After, a number or a date (RFC 9110 section 10.2.3); 0 for none."""
    text = (headers.get("Retry-After") or b"").decode("latin-1")
    try:
        return int(text) if text.isdecimal() else max(0.0, until(email.utils.parsedate_to_datetime(text).isoformat()))
    except (ValueError, TypeError):  # such as a number of thousands of digits, a date without a zone
        return 0


def until(stamp):
    """The seconds until a time of an answer."""
    return (datetime.datetime.fromisoformat(stamp) - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
