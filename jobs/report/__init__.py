"""The report: what a night's tables say about one cluster, as a single HTML file that needs no network.

Python writes what can be read without scripts; `report.js` draws the charts, of long lists only the rows in sight.
"""
