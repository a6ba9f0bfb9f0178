<?php
return burn(4000);
