std = 'luajit'
globals = { 'vim' }
max_line_length = 120
max_comment_line_length = 140
