"""Chromium, headless, driven by selenium; on Debian: apt-get install chromium chromium-driver."""

import os
import shutil
from contextlib import contextmanager

import pytest


@contextmanager
def chromium(width=1360, height=900):
    """A headless Chromium; skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        if os.environ.get("HICLASS_NO_BROWSER") == "1":
            pytest.xfail("HICLASS_NO_BROWSER=1: there is no browser here")
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        resize(browser, width, height)
        prefer(browser, "light")
        yield browser
    finally:
        browser.quit()


def resize(browser, width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(browser, scheme, media="", motion="reduce"):
    """Set the wishes of the user; without motion every zoom is done at once."""
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": motion},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def find(browser, selector):
    return browser.find_element("css selector", selector)


def find_all(browser, selector):
    return browser.find_elements("css selector", selector)


def text(browser, selector):
    return find(browser, selector).text


def press(browser, *keys):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    chain = ActionChains(browser)
    for key in keys:
        chain.send_keys(getattr(Keys, key, key))
    chain.perform()


def wait_until(browser, condition):
    """Wait for what the browser tells the page in its own time."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 10).until(lambda _: condition())
